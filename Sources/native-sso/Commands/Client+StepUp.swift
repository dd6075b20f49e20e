import NativeSSO
import Registry

extension Client {
    /// Whether it may demand a login that is stronger or newer than the one it is offered.
    var asksForStepUp: Bool { !acceptedContextClasses.isEmpty || maximumAuthenticationAge != nil }

    /// What is doubtful of such a client: after the login that it is sent to, the id_token it holds is its own, and it must be
    /// allowed to bring that one.
    ///
    /// - Parameter groups: All of them. One in which it is not yet says nothing of it.
    func stepUpWarning(_ groups: [SharingGroup]) -> [String] {
        let roles = groups.flatMap(\.members).filter { $0.client == id }.map(\.role)
        guard asksForStepUp, !allowsSelfExchange || !roles.isEmpty && !roles.contains(.both) else { return [] }
        return [
            "warning: \(id): after the login that --min-acr or --max-auth-age sends a user to, the client's own id_token is "
                + "refused; it needs --self-exchange, and the role both in its group"
        ]
    }
}
