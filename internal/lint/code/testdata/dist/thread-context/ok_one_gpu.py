import threading

import torch


def watch():
    # not distributed: device 0 is the device
    print(torch.cuda.mem_get_info())


threading.Thread(target=watch).start()
