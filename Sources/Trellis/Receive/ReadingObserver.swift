/// Receives the outcome of each validation and serialization of an answer.
package protocol ReadingObserver: AnyObject, Sendable {
    /// A validator has accepted the answer, or refused it with an error.
    func didValidate(_ error: (any Error)?)
    /// A serializer has returned, with an error if it failed, after so long.
    func didSerialize(in duration: Duration, _ error: (any Error)?)
}
