import NativeSSO

extension RevocationOutcome {
    /// As a row of the table of refusals has them.
    var explanation: (cause: String, remedy: String) {
        switch self {
        case .revoked:
            ("the identity provider revoked the refresh token that no app got", "Nothing is left to be done.")
        case .refused:
            (
                "the identity provider refused to revoke the refresh token that no app got",
                "Its log has it, at this time. The token ends as its sessions do there."
            )
        case .failed:
            (
                "the refresh token that no app got was not revoked: the identity provider gave no answer, or too many came at once",
                "Look at its state. The token ends as its sessions do there."
            )
        case .endpointUnknown:
            (
                "the discovery document names no revocation endpoint on its own host",
                "The operator sets code_relay.revocation_endpoint, if there is one."
            )
        case .switchedOff:
            (
                "code_relay.revoke_orphans is false: the refresh token that no app got was not revoked",
                "Nothing is to be done. The token ends as its sessions do there."
            )
        case .outcomeUnknown:
            (
                "the database did not say whether an app can get what came for the code; it was not revoked",
                "Look at the database at this time. If no app has it, the token ends as its sessions do there."
            )
        }
    }
}
