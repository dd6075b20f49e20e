import BrokerTesting
import JOSE
import BrokerHarness

/// A client of `private_key_jwt` that the broker of a stage knows.
struct Signer {
    let id: String
    let stage: FaultStage
    private let key: TestKey

    init(_ id: String, at stage: FaultStage) async throws {
        let key = try TestKey(.es256, keyID: id)
        (self.id, self.stage, self.key) = (id, stage, key)
        let sql = try stage.installation.session()
        let row = ClientRow(id, membership: .init(group: "vendor", issuer: stage.logins.issuer)) {
            $0.authentication = "private_key_jwt"
            $0.allowedScope = ["openid"]
            $0.defaultScope = ["openid"]
        }
        for statement in row.sql { try await sql.rows(statement) }
        try await stage.installation.addKey(key, of: id)
        let signer = self
        _ = try await eventually("the broker knows the client") {
            try await stage.broker.token(try signer.exchange()).status == 200 ? true : nil
        }
    }

    /// A good exchange, with an assertion of its own.
    func exchange() throws -> TokenForm {
        try stage.logins.exchange(stage.logins.login()).asserted(try assertion())
    }

    /// A new one.
    func assertion() throws -> String {
        try Assertion(client: id, audience: stage.installation.configuration.issuer, key: key).signed()
    }
}
