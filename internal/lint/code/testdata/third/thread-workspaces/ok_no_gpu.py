import threading


def log(conn):
    print(conn.recv(100))


def serve(listener):
    while True:
        conn, _ = listener.accept()
        threading.Thread(target=log, args=(conn,)).start()
