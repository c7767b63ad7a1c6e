"""Files over several real paths at once: sending and receiving them from Python.

    with plait.receive("inbox", listen="127.0.0.1:0") as receiver:
        plait.send("video.mkv", receiver.address, fingerprint=receiver.fingerprint, secret=receiver.secret)
        print(receiver.wait().path)

or, where other things go on at the same time:

    async with await plait.connect(address, fingerprint=..., secret=...) as sender:
        await sender.send("video.mkv")
"""
