"""Options of the evaluation task: ROC curves on private rows."""
