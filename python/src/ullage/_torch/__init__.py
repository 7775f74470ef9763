"""What the package knows of torch. Nothing here imports torch before a function is called that cannot do without."""
