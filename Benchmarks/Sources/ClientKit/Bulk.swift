import Glibc

/// Measures `download` and `download-file`: one large body, streamed.
func measureDownload(_ client: some Client, _ work: Work) async throws {
    var report = Report()
    let count: Int64
    if work.kind == .downloadFile, let file = work.file {
        count = try await client.download(work.url, toFile: file)
    } else {
        var sink = try ByteSink(path: nil)
        try await client.download(work.url, into: &sink)
        count = sink.count
    }
    report.stop()
    report.print(requests: 1, bytes: count)
}

/// Measures `download-files`: many bodies of medium size, each into a file.
func measureDownloads(_ client: some Client, _ work: Work) async throws {
    guard let folder = work.file else { return }
    for number in 0..<work.requests { unlink("\(folder)/\(number)") }
    mkdir(folder, 0o700)
    var report = Report()
    let bytes = try await client.download(
        work.url, toFiles: { "\(folder)/\($0)" }, count: work.requests, concurrency: work.concurrency)
    report.stop()
    report.print(requests: work.requests, bytes: bytes)
}

/// Measures `upload-file`: one large file, streamed.
func measureUpload(_ client: some Client, _ work: Work) async throws {
    guard let file = work.file else { return }
    var report = Report()
    let received = try await client.upload(file: file, to: work.url)
    report.stop()
    report.print(requests: 1, bytes: Int64(received))
}
