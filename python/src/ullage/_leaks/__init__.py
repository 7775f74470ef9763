"""Memory that stays: letting go of it with proof, and noticing that it grows.

reach    the storages that an object holds
drop     making an object let go of what it holds
release  release(): both, then the check, and who holds what is still there
series   a level over many steps in a few numbers, and whether it grows
watch    watch() and step(): growth confirmed, and who is behind it
growth   a growth that was confirmed
who      who allocated memory, from a recording, and what holds it, from a search of the process
"""
