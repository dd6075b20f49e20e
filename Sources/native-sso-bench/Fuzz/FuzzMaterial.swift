import BrokerTesting
import Foundation
import JOSE
import OAuthWire
import StrictCoding

/// What good requests are made of: logins, live refresh chains, and two clients that prove who they are.
struct FuzzMaterial {
    /// The identity provider's.
    let key: TestKey
    let logins: [(login: Login, token: String)]
    let refreshTokens: [String]
    /// Of ``signer``.
    let clientKey: TestKey
    /// Of ``confidential``.
    let secret: String
    let now: Int64

    static let signer = "fuzz-signer"
    static let confidential = "fuzz-secret"
    static let broker = BrokerCommands.issuer

    /// Registers the two clients.
    static func register(in installation: Installation) throws -> (clientKey: TestKey, secret: String) {
        let commands = installation.commands
        for (client, method) in [(signer, "private_key_jwt"), (confidential, "client_secret_basic")] {
            try commands.run(
                "client", "add", client, "--authentication", method, "--audience", SampleApps.audience,
                "--allowed-scope", SampleApps.scope, "--default-scope", SampleApps.scope)
            try commands.run("group", "member", "add", SampleApps.group, client, "--role", "both")
        }
        let key = try TestKey(.es256, keyID: "fuzz")
        let file = "\(installation.directory)/client.jwk"
        try Data(JSONMutation.text(.object(key.publicKey.json))).write(to: URL(filePath: file))
        try commands.run("client", "key", "add", signer, "--file", file)
        let output = try commands.run("client", "secret", "rotate", confidential, "--json")
        guard let secret = try JSONReader.parse(Array(output.utf8)).object?.string("client_secret") else {
            throw Program.Failure(description: "client secret rotate showed no secret")
        }
        return (key, secret)
    }

    /// Exchanges some logins, for their refresh tokens.
    init(_ installation: Installation, _ credentials: (clientKey: TestKey, secret: String), port: UInt16) throws {
        (clientKey, secret) = credentials
        key = installation.key
        now = Int64(time(nil))
        let (key, now) = (key, now)
        logins = try (0..<64).map { _ in
            let login = Login.new()
            return (login, try key.sign(claims: login.claims(at: now)))
        }
        var refreshTokens: [String] = []
        for (login, token) in logins.prefix(16) {
            let form = FuzzForm(Self.exchange(login, token, client: SampleApps.targets[0]))
            let (status, body) = try PlainGet.answer(
                to: TokenRequest.head(bodyLength: form.octets.count) + form.octets, port: port)
            guard status == 200, let token = try JSONReader.parse(body).object?.string("refresh_token") else {
                throw Program.Failure(description: "a good exchange: \(status)")
            }
            refreshTokens.append(token)
        }
        self.refreshTokens = refreshTokens
    }

    static func exchange(_ login: Login, _ token: String, client: String) -> [(name: String, value: String)] {
        [
            (Parameter.grantType, GrantType.tokenExchange.rawValue), (Parameter.clientID, client),
            (Parameter.audience, SampleApps.issuer), (Parameter.subjectToken, token),
            (Parameter.subjectTokenType, TokenTypeURI.idToken.rawValue), (Parameter.actorToken, login.device),
            (Parameter.actorTokenType, TokenTypeURI.deviceID.rawValue),
        ]
    }

    static func refresh(_ token: String) -> [(name: String, value: String)] {
        [
            (Parameter.grantType, GrantType.refreshToken.rawValue), (Parameter.clientID, SampleApps.targets[0]),
            (Parameter.refreshToken, token),
        ]
    }
}
