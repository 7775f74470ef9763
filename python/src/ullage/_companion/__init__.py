"""What `ullage run` has in a process: it waits for torch and for CUDA, records, and writes recordings. Never raises into the program."""
