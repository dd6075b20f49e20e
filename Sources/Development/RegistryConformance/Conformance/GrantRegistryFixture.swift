package import NativeSSO

/// Takes the rows that a scenario begins with.
package protocol RowStore: Sendable {
    /// Registers a client, or replaces the one of that id.
    func put(client: ClientID, isEnabled: Bool) async throws

    /// Makes a client a member, and its group if there is none of that name; replaces an earlier membership at the
    /// same issuer.
    func put(_ member: MemberRow) async throws

    func removeMember(_ client: ClientID, at issuer: Issuer) async throws

    func put(_ session: SessionRow) async throws

    /// Puts the row of a device, or replaces it.
    func put(_ device: DeviceRow) async throws

    func put(_ grant: GrantRow) async throws

    /// Replaces what the registry knows of the brokers' counts.
    func put(_ service: ServiceHistory) async throws

    /// Disables the account of a user, whose live sessions go on here.
    func disable(_ subject: Subject, of issuer: Issuer) async throws

    /// Notes a proof that was used.
    func put(_ used: ProofID) async throws

    /// The same of an assertion.
    func put(_ used: AssertionID) async throws
}

/// A registry under test. A check can insert and read its rows.
///
/// Checks use names of their own, so several may follow one another on one registry; they must not run at the same
/// time, since each counts rows.
package protocol GrantRegistryFixture: RowStore {
    var registry: any GrantRegistry { get }
    /// The hand-offs of the same rows.
    var handoffs: any HandoffRegistry { get }

    /// Ends a live session now, as a logout does; returns when that can no longer be lost.
    func endSession(_ id: UniqueID) async throws

    func counts() async throws -> RegistryCounts

    /// Changes whenever any row changes that is not of the audit and no used proof.
    func digestOfState() async throws -> String
}

/// A scenario that needs rows in a registry.
package protocol StoredScenario: Sendable {
    /// Puts the rows there.
    func put(into fixture: any RowStore) async throws
}

extension StoredScenario {
    package func placed(in fixture: any RowStore) async throws -> Self {
        try await put(into: fixture)
        return self
    }
}
