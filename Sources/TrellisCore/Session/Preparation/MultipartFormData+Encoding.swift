public import FoundationEssentials

extension MultipartFormData {
    /// Returns the size of the form in bytes when it is sent; `nil` if a stream's length is not known. Asks for the sizes of the
    /// files at once, which may wait for a disk.
    ///
    /// - Throws: ``TrellisError``, of kind ``TrellisError/Kind/file`` if a part's file is missing, unreadable or a directory.
    public func contentLength() throws(TrellisError) -> Int64? { try PieceChunks(pieces()).length }

    /// Returns the complete form in memory, for tests and for small forms that are not sent in a request.
    ///
    /// - Throws: ``TrellisError``; an error that a stream throws.
    public func encode() async throws -> Data {
        try await RequestBody.multipart(self).collected(upTo: .max)
    }
}
