import CurlEngine

/// The notes that a download leaves for a later one that resumes it: see ``DownloadNotes``.
extension DownloadJourney {
    /// Returns resume data of the partial file; `nil` where the download cannot be resumed.
    ///
    /// - Parameters:
    ///   - done: The bytes that are on the disk when the note is written.
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
    /// tells how many bytes there are.
    private func resumeData(upTo offset: Int64) -> ResumeData? {
        resumeData(
            done: offset > 0 ? [0..<offset] : [], pending: ResumeData.Pending([0..<(representation?.total ?? .max)]))
    }

    /// Notes the beginning before any bytes are written in order.
    func noteBeginning() {
        if let data = resumeData(upTo: offset) { notes?.begin(data) }
    }

    /// Notes the bytes that have come in order, as soon as they are on the disk.
    func noteProgress() {
        if let data = resumeData(upTo: offset) { notes?.save(data) }
    }

    /// Notes the segments before any bytes are written with gaps, because from then on the length of the file tells nothing. If
    /// the note cannot be written, an earlier note, which would take the gaps for bytes, is removed.
    ///
    /// - Throws: ``TrellisError`` if the earlier note cannot be removed.
    func noteBeginning(of parts: DownloadSegments) throws {
        guard let notes, let data = resumeData(done: parts.done) else { return }
        if !notes.begin(data) { try file?.forgetNote() }
        try notes.check()
    }

    /// A closure that notes the segments of a download in parts; `isTime` asks for a durable note.
    var noteOfParts: @Sendable (DownloadSegments, _ isTime: Bool) throws -> Void {
        guard let notes, let data = resumeData(done: []) else { return { _, _ in } }
        return { parts, isTime in
            if isTime {
                try notes.check()
                return notes.save(data.with(done: parts.done))
            }
            // Until the first second is over, a note costs only this write, without a synchronization.
            guard !notes.hasSaved, let pending = ResumeData.Pending(parts.done) else { return }
            notes.jot(data.with(done: [], pending: pending))
        }
    }

    /// Returns the resume data of a download that has ended with its bytes before `end`.
    func lastNote(end: Int64) -> ResumeData? {
        let done = parts?.done ?? [0..<end]
        return resumeData(done: done.map { $0.clamped(to: 0..<end) }.filter { !$0.isEmpty }, stamp: file?.stamp)
    }
}
