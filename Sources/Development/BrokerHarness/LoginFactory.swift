package import BrokerTesting
import StrictCoding

/// A login of one user on one device, as the app that logged in holds it.
package struct Login: Sendable {
    package var token: IDToken
    package let device: String

    package init(token: IDToken, device: String) {
        self.token = token
        self.device = device
    }

    package var sid: String { token.claims.string("sid") ?? "" }
}

/// The tokens that the target client got: the start of its token family.
package struct TokenFamily: Sendable {
    package let login: Login
    package let accessToken: String
    package let refreshToken: String
}

/// Logins at one issuer, without its login page.
package struct LoginFactory: Sendable {
    package let issuer: String
    package let key: TestKey
    /// The app that logs in.
    package let source: String
    /// The app that uses the login.
    package let target: String

    package struct Unexpected: Error {
        package let status: Int
        package let body: String
    }

    package init(issuer: String, key: TestKey, source: String, target: String) {
        self.issuer = issuer
        self.key = key
        self.source = source
        self.target = target
    }

    /// A login that no broker has seen, on a device of its own unless one is given.
    package func login(device: String = Unguessable.make()) -> Login {
        let token = IDToken(
            issuer: issuer, client: source, subject: "user-\(Unguessable.make().prefix(8))", sid: Unguessable.make(),
            device: device, key: key)
        return Login(token: token, device: device)
    }

    /// An id_token of a login for an app as an ordinary identity provider issues it: without any device hash.
    package func ordinaryToken(of client: String) -> IDToken {
        var token = login().token
        token.claims["aud"] = .string(client)
        token.claims["di_hash"] = nil
        token.claims["ds_hash"] = nil
        return token
    }

    /// Its exchange by the other app.
    package func exchange(_ login: Login, _ profile: NativeProfile = .deviceID) throws -> TokenForm {
        .exchange(try login.token.signed(), issuer: issuer, device: login.device, profile: profile, client: target)
    }

    /// Exchanges a fresh login.
    package func family(at broker: Broker) async throws -> TokenFamily {
        let login = login()
        let answer = try await broker.token(try exchange(login))
        guard answer.status == 200, let json = answer.json, let access = json.string("access_token"),
            let refresh = json.string("refresh_token")
        else { throw Unexpected(status: answer.status, body: answer.text) }
        return TokenFamily(login: login, accessToken: access, refreshToken: refresh)
    }

    package func refresh(_ token: String) -> TokenForm { .refresh(token, client: target) }
}
