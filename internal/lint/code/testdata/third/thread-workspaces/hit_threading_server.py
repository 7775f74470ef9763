from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import torch

from networks import load

model = load("net.pt").cuda().eval()


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        n = int(self.headers["Content-Length"])
        x = torch.frombuffer(bytearray(self.rfile.read(n)), dtype=torch.float32)
        with torch.inference_mode():
            y = model(x.cuda()[None])
        self.send_response(200)
        self.end_headers()
        self.wfile.write(str(y.argmax().item()).encode())


ThreadingHTTPServer(("", 8000), Handler).serve_forever()  # want: third/thread-workspaces
