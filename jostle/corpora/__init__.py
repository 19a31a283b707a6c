"""Public databases: where they come from, and the parts of them that are rehearsed on."""
