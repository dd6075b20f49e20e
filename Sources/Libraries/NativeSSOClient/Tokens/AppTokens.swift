public import OAuthWire

/// The tokens of one app at the broker. It gets new ones by refresh, else by exchange, else the user must log in.
///
/// At most one request is in flight, and concurrent callers share its result: the broker would treat two refreshes
/// with one token as reuse. Cancelling a caller does not cancel the request, because its response replaces the
/// refresh token.
public actor AppTokens {
    private let endpoint: TokenEndpoint
    private let issuer: String
    private let scope: String?
    private let shared: any Keychain
    private let own: any Keychain
    private let now: @Sendable () -> Int64
    private var current: (token: Credential, refreshAt: Int64)?
    private var renewal: Task<Result<Credential, ClientError>, Never>?

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
    public func accessToken() async throws(ClientError) -> Credential {
        if let current, now() < current.refreshAt { return current.token }
        return try await renewed()
    }

    /// Replaces `rejected`, an access token that a resource server answered with 401. Returns the current token if it
    /// already differs.
    ///
    /// - Throws: ``ClientError``, as ``accessToken()`` does.
    public func accessToken(insteadOf rejected: Credential) async throws(ClientError) -> Credential {
        if let current, current.token.secret.utf8.elementsEqual(rejected.secret.utf8) { self.current = nil }
        return try await accessToken()
    }

    private func renewed() async throws(ClientError) -> Credential {
        let task = renewal ?? Task { await renew() }
        renewal = task
        return try await task.value.get()
    }

    private func renew() async -> Result<Credential, ClientError> {
        defer { renewal = nil }
        do throws(ClientError) {
            if let tokens = try await refreshed() { return .success(try await keep(tokens)) }
            return .success(try await keep(try await exchanged()))
        } catch {
            return .failure(error)
        }
    }

    /// nil if there is no refresh token, or the broker refused it.
    private func refreshed() async throws(ClientError) -> TokenSet? {
        guard let token = try await keychain({ try await self.own.item(Self.item) }) else { return nil }
        do throws(ClientError) {
            return try await endpoint.refresh(Credential(String(decoding: token, as: UTF8.self)))
        } catch {
            guard error.remedy(after: .refresh) == .exchangeAgain else { throw error }
            try await keychain { try await self.own.removeItem(Self.item) }
            return nil
        }
    }

    /// Keeps the shared login even if the exchange is refused: the refusal may concern only this app.
    private func exchanged() async throws(ClientError) -> TokenSet {
        guard let login = try await keychain({ try await SharedLogin.load(from: self.shared) }) else {
            throw .notLoggedIn
        }
        return try await endpoint.exchange(login, issuer: issuer, scope: scope)
    }

    private func keep(_ tokens: TokenSet) async throws(ClientError) -> Credential {
        if let refreshToken = tokens.refreshToken {
            try await keychain { try await self.own.setItem(Self.item, Array(refreshToken.secret.utf8)) }
        }
        let lifetime = max(0, min(tokens.expiresIn ?? 0, 86_400))
        // Early, because the request with the token takes time too.
        current = (tokens.accessToken, now() + lifetime - min(lifetime / 10, 30))
        return tokens.accessToken
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
