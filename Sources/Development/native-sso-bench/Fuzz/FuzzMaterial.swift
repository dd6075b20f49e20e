import BrokerHarness
import BrokerTesting
import Foundation
import JOSE
import StrictCoding

/// Material for good requests: logins, live refresh tokens, two authenticated clients, and one client with a DPoP key.
struct FuzzMaterial {
    /// The identity provider's.
    let key: TestKey
    let codes: FuzzCodes
    let logins: [(login: Login, token: String)]
    /// One for each login, and one more, of ``bound``.
    let refreshTokens: [String]
    let boundRefreshTokens: [String]
    /// In the name of every login that is made on the way.
    private let run = Login.new().sid
    /// Of ``signer``.
    let clientKey: TestKey
    /// Of ``confidential``.
    let secret: String
    /// Of ``bound``.
    let proofKey: TestKey
    /// A key that belongs to no client.
    let strangerKey: TestKey
    private let port: UInt16

    /// Seconds since 1970, for claims that must be fresh.
    var now: Int64 { Int64(time(nil)) }

    /// The login of a request that brings one.
    func login(_ number: Int) -> Login {
        Login(sid: "\(run)-\(number)", subject: Login.subject(of: "\(run)-\(number)"), device: "\(run)-\(number)")
    }

    /// Sends proofs, or none.
    static let bound = "fuzz-bound"
    static let signer = "fuzz-signer"
    static let confidential = "fuzz-secret"

    /// Registers the clients.
    static func register(in installation: MeasuredInstallation) async throws -> (clientKey: TestKey, secret: String) {
        for (client, method) in [
            (signer, "private_key_jwt"), (confidential, "client_secret_basic"), (bound, "none"),
        ] {
            try await installation.register(client, authentication: method, in: SampleApps.group)
        }
        try await installation.base.command("client", "update", bound, "--dpop", "optional")
        let key = try TestKey(.es256, keyID: "fuzz")
        try await installation.base.addKey(key, of: signer)
        return (key, try await installation.base.rotateSecret(of: confidential))
    }

    /// Exchanges the logins for refresh tokens. So the broker knows each login before the first bent request names it.
    init(
        _ installation: MeasuredInstallation, _ credentials: (clientKey: TestKey, secret: String), codes: FuzzCodes,
        port: UInt16
    ) throws {
        (clientKey, secret) = credentials
        self.codes = codes
        self.port = port
        strangerKey = try TestKey(.es256, keyID: "stranger")
        let (key, proofKey) = (installation.key, try TestKey(.es256, keyID: "proof"))
        (self.key, self.proofKey) = (key, proofKey)
        logins = try (0..<64).map { _ in
            let login = Login.new()
            return (login, try key.sign(claims: login.claims(at: Int64(time(nil)))))
        }
        refreshTokens = try logins.map { login, token in
            try Self.refreshToken(login, token, client: SampleApps.targets[0], port: port)
        }
        boundRefreshTokens = try logins.map { login, token in
            let proof = try TestProof(by: proofKey, for: SampleApps.tokenEndpoint, at: Int64(time(nil))).signed()
            return try Self.refreshToken(login, token, client: Self.bound, proof: proof, port: port)
        }
    }

    /// Exchanges again for a login, which starts a new token family.
    func newRefreshToken(_ login: Login, _ token: String) throws -> String {
        try Self.refreshToken(login, token, client: SampleApps.targets[0], port: port)
    }

    private static func refreshToken(
        _ login: Login, _ token: String, client: String, proof: String? = nil, port: UInt16
    ) throws -> String {
        var message = FuzzMessage(FuzzForm(exchange(login, token, client: client)))
        if let proof { message.add("DPoP", Array(proof.utf8)) }
        let (status, body) = try Connection(port: port).answer(to: message.octets)
        guard status == 200, let token = try JSONReader.parse(body).object?.string("refresh_token") else {
            throw ManagedProcess.Failure(description: "a good exchange: \(status)")
        }
        return token
    }

    static func exchange(_ login: Login, _ token: String, client: String) -> [(name: String, value: String)] {
        TokenForm.exchange(
            token, issuer: SampleApps.issuer, device: login.device, profile: .deviceID, client: client
        ).parameters
    }

    static func refresh(_ token: String, client: String = SampleApps.targets[0]) -> [(name: String, value: String)] {
        TokenForm.refresh(token, client: client).parameters
    }
}
