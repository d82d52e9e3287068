/// An observer of each validation and serialization of a response.
package protocol ReadingObserver: AnyObject, Sendable {
    /// Reports that a validator has accepted the response, or refused it with an error.
    func didValidate(_ error: (any Error)?)
    /// Reports that a serializer has returned after `duration`, with an error if it failed.
    func didSerialize(in duration: Duration, _ error: (any Error)?)
}
