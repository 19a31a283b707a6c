"""Decision trees: one engine that grows them level by level, small pieces that decide how, and an Option per paper."""
