public import TrellisCore

extension SessionConfiguration {
    /// Adds a recorder to the ``eventMonitors`` and, if it records bodies, a step that passes the bodies of responses to it: the last of
    /// the ``Steps/network``, so that it sees what was received.
    ///
    /// ```swift
    /// let recorder = HARRecorder(file: "run.har", bodyLimit: 1 << 20)
    /// configuration.record(into: recorder)
    /// ```
    ///
    /// Install the recorder after the other steps. A body is recorded as far as it is read. Several sessions may have the same recorder.
    public mutating func record(into recorder: HARRecorder) {
        eventMonitors.append(recorder)
        if recorder.bodyLimit > 0 { steps.network.append(recorder.bodyStep) }
    }
}

extension HARRecorder {
    /// The step that passes the bodies of responses to the recorder.
    var bodyStep: BodyCapturingStep {
        BodyCapturingStep(limit: bodyLimit) { [self] context in
            let id = beginCapture(callID: context.callID, attempt: context.attempt)
            return { [self] in endCapture(id, callID: context.callID, body: $0) }
        }
    }
}
