import CurlEngine
import TrellisCore

/// The checkpoints that a download leaves for a later one that resumes it: see ``CheckpointWriter``.
extension DownloadOperation {
    /// Returns resume data of the partial file; `nil` if the download cannot be resumed.
    ///
    /// - Parameters:
    ///   - done: The bytes that are on the disk when the checkpoint is written.
    ///   - pending: The bytes that the kernel has been given.
    private func resumeData(
        done: [Range<Int64>], pending: ResumeData.Pending? = nil, stamp: PartialFile.Stamp? = nil
    ) -> ResumeData? {
        guard canResume, let file, let representation else { return nil }
        return ResumeData(
            representation, url: ResumeData.name(of: request.url), path: file.path, done: done, stamp: stamp,
            pending: pending)
    }

    /// Returns resume data of a file that arrives in order: as long as the same boot of the machine lasts, the length of the file
    /// is the number of bytes that it has.
    private func resumeData(upTo offset: Int64) -> ResumeData? {
        resumeData(
            done: offset > 0 ? [0..<offset] : [], pending: ResumeData.Pending([0..<(representation?.total ?? .max)]))
    }

    /// Writes a checkpoint of the beginning before any bytes are written in order.
    func checkpointBeginning() {
        if let data = resumeData(upTo: offset) { checkpoints?.begin(data) }
    }

    /// Writes a checkpoint of the bytes that have arrived in order, as soon as they are on the disk.
    func checkpointProgress() {
        if let data = resumeData(upTo: offset) { checkpoints?.save(data) }
    }

    /// Writes a checkpoint of the segments before any bytes are written with gaps, because from then on the length of the file has
    /// no meaning. If the checkpoint cannot be written, an earlier checkpoint, which would mistake the gaps for bytes, is removed.
    ///
    /// - Throws: ``TrellisError`` if the earlier checkpoint cannot be removed.
    func checkpointBeginning(of parts: DownloadSegments) throws {
        guard let checkpoints, let data = resumeData(done: parts.done) else { return }
        if !checkpoints.begin(data) { try file?.removeCheckpointDurably() }
        try checkpoints.check()
    }

    /// The closure that writes a checkpoint of the segments of a download in parts.
    var checkpointOfParts: @Sendable (DownloadSegments, _ isDurable: Bool) throws -> Void {
        guard let checkpoints, let data = resumeData(done: []) else { return { _, _ in } }
        return { parts, isDurable in
            if isDurable {
                try checkpoints.check()
                return checkpoints.save(data.with(done: parts.done))
            }
            // Until the first second is over, a checkpoint costs only this write, without a synchronization.
            guard !checkpoints.hasSaved, let pending = ResumeData.Pending(parts.done) else { return }
            checkpoints.writeProvisional(data.with(done: [], pending: pending))
        }
    }

    /// Returns the resume data of a download that has ended with its bytes before `end`.
    func lastCheckpoint(end: Int64) -> ResumeData? {
        let done = parts?.done ?? [0..<end]
        return resumeData(done: done.map { $0.clamped(to: 0..<end) }.filter { !$0.isEmpty }, stamp: file?.stamp)
    }
}
