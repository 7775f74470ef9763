# A room is not a shortage of memory: what is told again in the handler holds no tensors.
import torch


class Sender:
    def send(self, room, chunk):
        try:
            self.acknowledge(room)
            self.post(chunk.to("cuda"))
        except Exception as e:
            print(f"unexpected transfer error for room {room}: {e}")
            self.acknowledge(room)

    def acknowledge(self, room):
        self.rooms[room] = torch.zeros(1)

    def post(self, chunk):
        self.sent = chunk
