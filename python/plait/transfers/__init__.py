"""Transfers of files over several real paths at once, from Python.

    with plait.receive("inbox", listen="127.0.0.1:0") as receiver:
        plait.send("video.mkv", receiver.address, fingerprint=receiver.fingerprint, secret=receiver.secret)
        print(receiver.wait().path)

or, in asynchronous code:

    async with await plait.connect(address, fingerprint=..., secret=...) as sender:
        await sender.send("video.mkv")
"""
