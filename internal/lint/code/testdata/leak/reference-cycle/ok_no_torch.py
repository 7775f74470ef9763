class Widget:
    def __init__(self, parent=None):
        self.parent = parent or self
        self.root = self
        self.children = []
        if parent:
            parent.children.append(self)


for _ in range(10):
    Widget()
