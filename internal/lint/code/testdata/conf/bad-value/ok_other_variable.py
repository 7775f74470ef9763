import os

os.environ["MY_ALLOC_CONF"] = "expandable_segments:true"
os.environ["OMP_NUM_THREADS"] = "max_split_size_mb:8"
