public import BrokerTesting
import StrictCoding

/// A login of one user on one device, as the app that logged in holds it.
public struct Login: Sendable {
    public var token: IDToken
    public let device: String

    public init(token: IDToken, device: String) {
        self.token = token
        self.device = device
    }

    public var sid: String { token.claims.string("sid") ?? "" }
}

/// What the app that uses the login got: its refresh chain.
public struct Chain: Sendable {
    public let login: Login
    public let accessToken: String
    public let refreshToken: String
}

/// Logins at one issuer, without its login page.
public struct LoginFactory: Sendable {
    public let issuer: String
    public let key: TestKey
    /// The app that logs in.
    public let source: String
    /// The app that uses the login.
    public let target: String

    public struct Unexpected: Error {
        public let status: Int
        public let body: String
    }

    public init(issuer: String, key: TestKey, source: String, target: String) {
        self.issuer = issuer
        self.key = key
        self.source = source
        self.target = target
    }

    /// A login that no broker has seen, on a device of its own unless one is given.
    public func login(device: String = Unguessable.make()) -> Login {
        let token = IDToken(
            issuer: issuer, client: source, subject: "user-\(Unguessable.make().prefix(8))", sid: Unguessable.make(),
            device: device, key: key)
        return Login(token: token, device: device)
    }

    /// Its exchange by the other app.
    public func exchange(_ login: Login, _ profile: NativeProfile = .deviceID) throws -> TokenForm {
        .exchange(try login.token.signed(), issuer: issuer, device: login.device, profile: profile, client: target)
    }

    /// Exchanges a fresh login.
    public func chain(at broker: Broker) async throws -> Chain {
        let login = login()
        let answer = try await broker.token(try exchange(login))
        guard answer.status == 200, let json = answer.json, let access = json.string("access_token"),
            let refresh = json.string("refresh_token")
        else { throw Unexpected(status: answer.status, body: answer.text) }
        return Chain(login: login, accessToken: access, refreshToken: refresh)
    }

    public func refresh(_ token: String) -> TokenForm { .refresh(token, client: target) }
}
