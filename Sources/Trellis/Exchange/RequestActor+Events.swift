/// What observers hear of an attempt. Called for each event that the machine has taken in.
extension RequestActor {
    func tell(_ event: RequestState.Event, after progress: RequestState.Progress?) {
        guard let observer = prepared.history?.observer, state.progress != progress else { return }
        switch event {
        case .resume, .suspend:
            if state.progress == .queued { observer.tell(.queued(prepared.transportRequest.request)) }
        case .admit: observer.tell(.admitted)
        case .connect: observer.tell(.connected)
        case .head: if let head { observer.tell(.head(head)) }
        case .complete, .fail, .cancel:
            guard progress != nil else { return }
            observer.tell(.attemptEnded(finalMetrics, failure))
        }
    }
}
