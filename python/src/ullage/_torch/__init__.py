"""What the package knows of torch, which it never imports by itself unless the caller must have it already."""
