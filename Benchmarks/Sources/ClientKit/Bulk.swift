/// download, download-file: one large body, streamed.
func measureDownload(_ client: some Client, _ work: Work) async throws {
    var report = Report()
    var sink = try ByteSink(path: work.kind == .downloadFile ? work.file : nil)
    try await client.download(work.url, into: &sink)
    sink.close()
    report.stop()
    report.print(requests: 1, bytes: sink.count)
}

/// upload-file: one large file, streamed.
func measureUpload(_ client: some Client, _ work: Work) async throws {
    guard let file = work.file else { return }
    var report = Report()
    let received = try await client.upload(file: file, to: work.url)
    report.stop()
    report.print(requests: 1, bytes: Int64(received))
}
