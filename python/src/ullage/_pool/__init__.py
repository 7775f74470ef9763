"""Memory set apart: pools with a limit of their own, caches in them, and a limit for the whole process."""
