"""Who holds which memory: a walk over the objects of the process, and a name for the way to each tensor."""
