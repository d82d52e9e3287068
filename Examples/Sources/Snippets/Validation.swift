import Trellis

func validated(_ session: Session) async throws -> Data {
    let request = session.request("https://api.example.com/users/1")
    let checked = request.validate()
    return try await checked.data()
}
