class Camera:
    def record_stream(self, url):
        return open(url, "rb")


def save(camera, url):
    return camera.record_stream(url)
