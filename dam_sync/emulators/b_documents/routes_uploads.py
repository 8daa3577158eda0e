"""Uploads: batches, whole files and chunks (wire B 6.2)."""

from __future__ import annotations

from urllib.parse import unquote_plus

from dam_sync.emulators.b_documents.batches import Upload
from dam_sync.emulators.b_documents.calls import Call, Reply
from dam_sync.emulators.b_documents.operations import run
from dam_sync.emulators.b_documents.records import FileBlob, Refusal
from dam_sync.emulators.kit.environment import Json


def begin(call: Call) -> Reply:
    """`POST /upload/new/{handler}`."""
    if call.params.get("handler", "default") != "default":
        raise Refusal(400, f"No batch handler: {call.params['handler']}")
    batch = call.server.batches.begin()
    return Reply(200, {"provider": "default", "fileEntries": [], "batchId": batch.id})


def begin_legacy(call: Call) -> Reply:
    """`POST /upload`."""
    return Reply(201, {"batchId": call.server.batches.begin().id})


def handlers(call: Call) -> Reply:
    """`GET /upload/handlers`."""
    return Reply(200, {"handlers": [{"name": "default"}]})


def listing(call: Call) -> Reply:
    """`GET /upload/{batch}`: 204 when it is empty."""
    batch = call.server.batches.get(call.params["batch"])
    found = [batch.files[index].json() for index in sorted(batch.files)]
    return Reply(200, found) if found else Reply(204)


def info(call: Call) -> Reply:
    """`GET /upload/{batch}/info`."""
    batch = call.server.batches.get(call.params["batch"])
    found = [batch.files[index].json() for index in sorted(batch.files)]
    return Reply(200, {"provider": "default", "fileEntries": found, "batchId": batch.id})


def cancel(call: Call) -> Reply:
    """`DELETE /upload/{batch}`."""
    batch = call.server.batches.get(call.params["batch"])
    call.server.batches.drop(batch.id)
    call.server.batches.cancelled.add(batch.id)
    return Reply(204)


def file_info(call: Call) -> Reply:
    """`GET /upload/{batch}/{index}`: 202 while chunks are missing."""
    upload = _upload(call)
    return Reply(200 if upload.blob else _incomplete(call), upload.json())


def file_drop(call: Call) -> Reply:
    """`DELETE /upload/{batch}/{index}`."""
    _upload(call)
    del call.server.batches.get(call.params["batch"]).files[_index(call)]
    return Reply(204)


async def put(call: Call) -> Reply:
    """`POST /upload/{batch}/{index}`: a whole file, or a chunk of one."""
    headers, batches = call.headers, call.server.batches
    if headers.get("content-type", "").lower().startswith("multipart/"):
        raise Refusal(400, "Multipart uploads are not supported")
    index = _index(call)
    name = unquote_plus(headers.get("x-file-name", ""))
    kind = headers.get("x-file-type") or "application/octet-stream"
    length = headers.get("content-length", "-1")
    answer: dict[str, Json] = {"uploaded": "true", "batchId": call.params["batch"], "fileIdx": str(index)}
    if headers.get("x-upload-type", "").lower() != "chunked":
        size = _whole(headers.get("x-file-size") or length)
        upload = await batches.put(call.params["batch"], index, Upload(name, kind, size), call.stream())
        upload.size = upload.blob.size if upload.blob else size
        return Reply(201, {**answer, "uploadType": "normal", "uploadedSize": length})
    number, count = _whole(headers.get("x-upload-chunk-index", "")), _whole(headers.get("x-upload-chunk-count", ""))
    given = Upload(name, kind, _whole(headers.get("x-file-size", "")), count)
    upload = await batches.put_chunk(call.params["batch"], index, number, given, call.stream())
    answer |= {
        "uploadType": "chunked", "uploadedSize": length, "uploadedChunkIds": sorted(upload.chunks),
        "chunkCount": upload.count,
    }  # fmt: skip
    return Reply(201 if upload.blob else _incomplete(call), answer)


def complete(call: Call) -> Reply:
    """`POST /upload/{batch}/{index}/complete`: on the default handler a comparison."""
    upload, body = _upload(call), call.body
    etag = str(body.get("etag") or "").strip('"')
    digests = upload.blob.digests() if upload.blob else None
    same = digests is not None and upload.blob is not None and body.get("fileSize") in (None, upload.blob.size)
    if not same or (etag and digests and etag != digests.md5):
        raise Refusal(409, "The uploaded file does not match")
    return Reply(200, {"uploaded": "true", "batchId": call.params["batch"], "fileIdx": call.params["index"]})


def refresh(call: Call) -> Reply:
    """`POST /upload/{batch}/refreshToken`: not on the default handler."""
    raise Refusal(501, "Not implemented")


def execute_file(call: Call) -> Reply:
    """`POST /upload/{batch}/{index}/execute/{operation}`; the batch is dropped at the end."""
    call.reader.used.add(call.params["batch"])
    call.server.batches.get(call.params["batch"])
    file = call.server.batches.file(call.params["batch"], call.params["index"])
    if file is None:
        raise Refusal(404, "", empty=True)
    return run(call, call.params["operation"], [file])


def execute_batch(call: Call) -> Reply:
    """`POST /upload/{batch}/execute/{operation}` for all files in order of index."""
    key = call.params["batch"]
    call.reader.used.add(key)
    batch = call.server.batches.get(key)
    found = [call.server.batches.file(key, str(index)) for index in sorted(batch.files)]
    return run(call, call.params["operation"], [file for file in found if isinstance(file, FileBlob)])


def _upload(call: Call) -> Upload:
    found = call.server.batches.get(call.params["batch"]).files.get(_index(call))
    if found is None:
        raise Refusal(404, "", empty=True)
    return found


def _index(call: Call) -> int:
    if not call.params["index"].isdigit():
        raise Refusal(400, "fileIdx request path parameter must be a number")
    return int(call.params["index"])


def _whole(text: str) -> int:
    if not text.lstrip("-").isdigit():
        raise Refusal(400, f"Not a number: {text}")
    return int(text)


def _incomplete(call: Call) -> int:
    return 202 if call.server.options.at_least("2021.0") else 308
