/// A grant as the broker's database sees it.
enum RequestKind: String, CaseIterable, Sendable {
    /// An exchange of a login that nobody has seen: session, device, grant and audit rows are inserted.
    case newLogin = "new_login"
    /// The first exchange by an app of a login that is known: grant and audit rows are inserted.
    case newGrant = "new_grant"
    /// One more exchange by the same app: the grant is advanced, an audit row inserted.
    case repeated
    /// The same by an app that shows a key (DPoP), with a proof for each: two signatures to verify, and one more row is inserted.
    case proven = "repeated_dpop"
    /// The grant is advanced.
    case refresh

    var isExchange: Bool { self != .refresh }
}
