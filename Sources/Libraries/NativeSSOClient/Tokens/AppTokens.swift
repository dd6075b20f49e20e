public import OAuthWire
import StrictCoding

/// The tokens of one app at the broker. It gets new ones by refresh, else by exchange, else the user must log in.
///
/// At most one request is in flight, and concurrent callers share its result: the broker would treat two refreshes
/// with one token as reuse. Cancelling a caller does not cancel the request, because its response replaces the
/// refresh token.
///
/// The tokens belong to the user of the login in the shared keychain. If another app logs another user in, or signs the
/// device out, the next call drops them.
public actor AppTokens {
    let endpoint: TokenEndpoint
    private let issuer: String
    private let scope: String?
    private let shared: any Keychain
    private let own: any Keychain
    private let now: @Sendable () -> Int64
    private var current: (token: AccessToken, refreshAt: Int64, login: ItemRevision)?
    private var renewal: Task<Result<AccessToken, ClientError>, Never>?

    /// An access token, and how it is sent: ``TokenSet/isBoundToKey``.
    struct AccessToken: Sendable {
        let value: Credential
        let isBoundToKey: Bool
    }

    /// The name of the refresh token in the app's own keychain.
    public static let item = "refresh-token"

    /// Creates the actor; loads tokens on first use.
    ///
    /// - Parameters:
    ///   - endpoint: The broker's token endpoint.
    ///   - issuer: The issuer of the shared login's id_token.
    ///   - scope: The scopes of exchanges; nil: the client's default.
    ///   - shared: The vendor's keychain group, with the login.
    ///   - own: The app's own keychain group, for its refresh token.
    ///   - now: The current time in seconds since 1970.
    public init(
        endpoint: TokenEndpoint, issuer: String, scope: String? = nil, shared: any Keychain, own: any Keychain,
        now: @escaping @Sendable () -> Int64
    ) {
        self.endpoint = endpoint
        self.issuer = issuer
        self.scope = scope
        self.shared = shared
        self.own = own
        self.now = now
    }

    /// A valid access token, renewed if necessary.
    ///
    /// It is renewed early: a tenth of its lifetime before it expires, at most 30 s.
    /// - Throws: ``ClientError``. ``ClientError/remedy(after:)`` for `.exchange` tells what to do.
    public func accessToken() async throws(ClientError) -> Credential { try await token().value }

    func token() async throws(ClientError) -> AccessToken {
        let login = try await keychain { try await self.shared.revision(of: SharedLogin.item) }
        if let current, current.login == login, now() < current.refreshAt { return current.token }
        return try await renewed()
    }

    /// Replaces `rejected`, an access token that a resource server answered with 401. Returns the current token if it
    /// already differs.
    ///
    /// - Throws: ``ClientError``, as ``accessToken()`` does.
    public func accessToken(insteadOf rejected: Credential) async throws(ClientError) -> Credential {
        try await token(insteadOf: rejected).value
    }

    func token(insteadOf rejected: Credential) async throws(ClientError) -> AccessToken {
        if let current, current.token.value.secret.utf8.elementsEqual(rejected.secret.utf8) { self.current = nil }
        return try await token()
    }

    /// Exchanges the shared login, also if this app signed out before. RFC 8693.
    ///
    /// - Throws: ``ClientError``, as ``accessToken()`` does.
    public func exchange() async throws(ClientError) -> Credential {
        try await reset()
        return try await renewed().value
    }

    /// Drops the tokens, and forgets that this app signed out.
    func reset() async throws(ClientError) {
        _ = await renewal?.value
        current = nil
        try await keychain { try await self.own.removeItem(Self.item) }
    }

    /// Drops the tokens and stays without, whatever the shared keychain holds, until ``exchange()``.
    ///
    /// - Throws: The keychain's error as ``ClientError/keychain(_:)``.
    func signOut() async throws(ClientError) {
        _ = await renewal?.value
        current = nil
        try await keychain { [bytes = OwnItem.signedOut.bytes ?? []] in try await self.own.setItem(Self.item, bytes) }
    }

    /// The refresh token as stored; nil if there is none.
    func refreshToken() async throws(ClientError) -> Credential? {
        if case .grant(let token, _, _) = try await ownItem().item { token } else { nil }
    }

    private func renewed() async throws(ClientError) -> AccessToken {
        let task = renewal ?? Task { await renew() }
        renewal = task
        return try await task.value.get()
    }

    private func renew() async -> Result<AccessToken, ClientError> {
        defer { renewal = nil }
        do throws(ClientError) {
            return .success(try await renewedTokens())
        } catch {
            return .failure(error)
        }
    }

    private func renewedTokens() async throws(ClientError) -> AccessToken {
        current = nil
        var (item, revision) = try await ownItem()
        if case .signedOut = item { throw .notLoggedIn }
        guard var login = try await sharedLogin(unlessOf: item) else {
            // The user signed out, in another app of the vendor.
            try await replace(revision, with: nil)
            throw .notLoggedIn
        }
        // Twice at most: another process of this app may be quicker.
        for _ in 1...2 {
            guard case .grant(let token, let user, _) = item else { break }
            guard user == login.user else {
                // Gone whatever becomes of the exchange: the app must not keep what is another user's.
                if try await replace(revision, with: nil) { revision = nil }
                break
            }
            do throws(ClientError) {
                return try await keep(try await endpoint.refresh(token), of: login, replacing: revision)
            } catch {
                guard error.remedy(after: .refresh) == .exchangeAgain else { throw error }
            }
            if try await replace(revision, with: nil) {
                (item, revision) = (.none, nil)
            } else {
                (item, revision) = try await ownItem()
            }
        }
        if login.value == nil {
            guard let loaded = try await loadedLogin() else { throw .notLoggedIn }
            login = loaded
        }
        guard let value = login.value else { throw .notLoggedIn }
        // Keeps the shared login even if the exchange is refused: the refusal may concern only this app.
        let tokens = try await endpoint.exchange(value, issuer: issuer, scope: scope)
        return try await keep(tokens, of: login, replacing: revision)
    }

    /// A login in the shared keychain. `value` is nil if it was not read.
    private typealias Login = (value: SharedLogin?, user: IDTokenClaims.User, revision: ItemRevision)

    /// The login that decides whose tokens are valid; nil if there is none. It is read only if it has changed since the
    /// app's item was written, because the keychain may ask the user to read it.
    private func sharedLogin(unlessOf item: OwnItem) async throws(ClientError) -> Login? {
        let revision = try await keychain { try await self.shared.revision(of: SharedLogin.item) }
        guard let revision else { return nil }
        if case .grant(_, let user, revision) = item { return (nil, user, revision) }
        return try await loadedLogin()
    }

    private func loadedLogin() async throws(ClientError) -> Login? {
        guard let (login, revision) = try await SharedLogin.stored(in: shared) else { return nil }
        guard let user = login.user else { throw .keychainItem(.corrupt) }
        return (login, user, revision)
    }

    private func keep(
        _ tokens: TokenSet, of login: Login, replacing revision: ItemRevision?
    ) async throws(ClientError) -> AccessToken {
        guard tokens.isUsable, !tokens.isBoundToKey || endpoint.prover != nil else {
            throw .unexpectedAnswer(status: 200)
        }
        if let refreshToken = tokens.refreshToken {
            let item = OwnItem.grant(refreshToken, login.user, login.revision)
            // If another process of the app wrote meanwhile, its token is as good, and may be newer.
            if try await !replace(revision, with: item.bytes), case .signedOut = try await ownItem().item {
                throw .notLoggedIn
            }
        }
        let lifetime = max(0, min(tokens.expiresIn ?? 0, 86_400))
        // Early, because the request with the token takes time too.
        let token = AccessToken(value: tokens.accessToken, isBoundToKey: tokens.isBoundToKey)
        current = (token, now() + lifetime - min(lifetime / 10, 30), login.revision)
        return token
    }

    private func ownItem() async throws(ClientError) -> (item: OwnItem, revision: ItemRevision?) {
        guard let bytes = try await keychain({ try await self.own.item(Self.item) }) else { return (.none, nil) }
        return (OwnItem(bytes), ItemRevision(of: bytes))
    }

    @discardableResult
    private func replace(_ revision: ItemRevision?, with value: [UInt8]?) async throws(ClientError) -> Bool {
        try await keychain { try await self.own.replaceItem(Self.item, revision, with: value) }
    }

    private func keychain<Value: Sendable>(
        _ work: @Sendable () async throws -> Value
    ) async throws(ClientError) -> Value {
        do {
            return try await work()
        } catch {
            throw .keychain(error)
        }
    }
}

/// What the app's own keychain holds.
private enum OwnItem {
    case none
    case signedOut
    /// A refresh token, its user, and the revision of the shared login when this item was written.
    case grant(Credential, IDTokenClaims.User, ItemRevision)

    /// Damaged, half written, or of a newer version: nothing is lost, because an exchange gives another token.
    init(_ bytes: [UInt8]) {
        guard let json = try? KeychainItem.read(bytes) else {
            self = .none
            return
        }
        if json.bool("signed_out") == true {
            self = .signedOut
        } else if let token = json.string("refresh_token"), let issuer = json.string("iss"),
            let subject = json.string("sub"),
            let login = json.string("login").flatMap({ Base64URL.decode($0) }).flatMap(ItemRevision.init(octets:))
        {
            self = .grant(Credential(token), IDTokenClaims.User(issuer: issuer, subject: subject), login)
        } else {
            self = .none
        }
    }

    var bytes: [UInt8]? {
        switch self {
        case .none: nil
        case .signedOut: KeychainItem.write { $0.member("signed_out", true) }
        case .grant(let token, let user, let login):
            KeychainItem.write { json in
                json.member("refresh_token", token.secret)
                json.member("iss", user.issuer)
                json.member("sub", user.subject)
                json.member("login", Base64URL.encode(login.octets))
            }
        }
    }
}
