/// The passphrase of an encrypted key, which the program's closure returns.
extension ClientIdentity {
    /// The underlying error of a passphrase that was not returned in time.
    struct PassphraseTimeout: Error, CustomStringConvertible {
        let limit: Duration

        var description: String { "the passphrase was not returned within \(limit)" }
    }

    /// Returns the passphrase, within the limit on its time; the empty text if there is no closure.
    ///
    /// - Throws: ``TrellisError`` with the reason ``TrellisError/ClientIdentityFailure/noPassphrase(_:)``, and with the closure's error.
    func readPassphrase() async throws(TrellisError) -> String {
        guard let passphrase else { return "" }
        do {
            let limit = passphraseTimeout
            let text = try await FunctionTask.value(of: passphrase) { try await Task.sleep(for: limit) }
            guard let text else { throw PassphraseTimeout(limit: limit) }
            return text
        } catch {
            throw TrellisError(
                .securityFailed(.clientIdentity(.noPassphrase((key ?? certificate).name))), underlying: error)
        }
    }
}
