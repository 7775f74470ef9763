class Router:
    def __init__(self):
        self.routes = {"/": self.index, "/about": self.about}
        self.default = lambda: self.index()

    def index(self):
        return "index"

    def about(self):
        return "about"


for _ in range(3):
    Router()
