"""What a piece of a program takes of a GPU's memory: measured over a block of code, and told beforehand from a training step.

block      measure(): what is measured, from the beginning of a block to its end
recording  a recording that lasts as long as somebody measures, unless there is one already
events     the events of a block, replayed: which allocations were kept, which were live at the peak
sites      the lines of code that a stack stands for
result     what came out, in words and as a dict
preflight  preflight(): one or two real steps, and what follows for the rest of the run
rehearsal  a real step, measured by phase, and undone
states     what optimizers keep
largest    the largest batch, from steps of other sizes
observed   what a model's forward pass tells meanwhile
settings   allocator settings without effect
advice     what is warned of
outlook    what came out of a preflight
snapshot   snapshot(): a recording in a file
"""
