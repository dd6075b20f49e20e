import BrokerTesting
import JOSE
import BrokerHarness

/// A client of `private_key_jwt` that the broker of a fixture knows.
struct Signer {
    let id: String
    let fixture: FaultFixture
    private let key: TestKey

    init(_ id: String, at fixture: FaultFixture) async throws {
        let key = try TestKey(.es256, keyID: id)
        (self.id, self.fixture, self.key) = (id, fixture, key)
        let membership = ClientRow.Membership(group: "vendor", issuer: fixture.logins.issuer)
        try await fixture.installation.session().register(id, in: membership) {
            $0.authentication = "private_key_jwt"
        }
        try await fixture.installation.addKey(key, of: id)
        let signer = self
        _ = try await eventually("the broker knows the client") {
            try await fixture.broker.token(try signer.exchange()).status == 200 ? true : nil
        }
    }

    /// A good exchange, with an assertion of its own.
    func exchange() throws -> TokenForm {
        try fixture.logins.exchange(fixture.logins.login()).asserted(try assertion())
    }

    /// A new one.
    func assertion() throws -> String {
        try Assertion(client: id, audience: fixture.installation.configuration.issuer, key: key).signed()
    }
}
