import BrokerHTTP
import JOSE
import KeyModule
import Logging
import NativeSSO
import OAuthWire

extension Configuration {
    /// `log`: the log on standard error.
    struct Log: Sendable, Hashable {
        enum Format: String, Sendable, CaseIterable {
            case json
            case text
        }

        let level: Logger.Level
        /// `nil`: text on a terminal, and JSON elsewhere.
        let format: Format?
    }
}

extension Configuration.Log {
    init(reading section: Section) {
        let levels = Logger.Level.allCases.filter { section.isDevelopment || $0 >= .info }
        level = section.choice(
            "level", default: .info, offering: levels, help: "The least severe events that are logged.")
        format = section.value(
            "format", .choice(Format.allCases.map(\.rawValue)),
            help:
                "`json`: one object a line. `text`: for people. By default `text` on a terminal and `json` elsewhere.",
            Format.parse)
        if level < .info, !section.isDevelopment {
            section.report("level", "\(level) is for development only; write info, notice, warning, error or critical")
        }
    }
}

extension Configuration {
    /// `audit`: what is kept outside the database.
    struct Audit: Sendable, Hashable {
        /// See ``EndJournal``; `nil`: there is none.
        let journal: String?

        init(reading section: Section) {
            journal = section.value(
                "journal", .path,
                help: "A file outside the database to which each end is appended before it is acknowledged. "
                    + "See `native-sso restore-check`.",
                PathText.absolute)
        }
    }
}

extension Configuration {
    /// `database`: the PostgreSQL that holds clients, sessions and grants.
    struct Database: Sendable {
        /// For libpq. Holds no password.
        let url: String
        let password: Credential?
        let pool: Int
        /// Whether `serve` runs as a role that may change everything.
        let allowsOwner: Bool

        init(reading section: Section) {
            let url = section.required(
                "url", .text("a libpq URL"), example: "postgresql://broker@%2Frun%2Fpostgresql/native_sso",
                help: "The database as libpq writes it, without a password. Other hosts need `sslmode=verify-full`.",
                DatabaseURL.init)
            self.url = url?.string ?? ""
            password = section.value(
                "password_file", .path, help: "The password, on one line. Only its owner may read the file.",
                SecretFile.read)
            pool = section.integer(
                "pool", default: 8, in: 1...200,
                help: "Connections for everything but exchanges and refreshes, which have three of their own.")
            allowsOwner = section.flag(
                "allow_owner", default: false,
                help: "Let `serve` connect as a superuser or a member of `native_sso_admin`.")
        }
    }

    /// `keys`: where the broker's private keys lie.
    struct Keys: Sendable {
        /// `nil`: the signer has the keys.
        let directory: String?
        /// Of the files of signing keys; `nil`: new ones are not encrypted.
        let passphrase: Credential?
        let usesFIPS: Bool
        /// Where new signing keys are made; `nil`: in files.
        let token: TokenSettings?
        /// The socket of the signer; `nil`: this process has the keys.
        let signer: String?

        init(reading section: Section) {
            signer = section.section(
                "signer", help: "A signer process, which has the keys instead of the broker. See `native-sso signer`."
            ) { signer in
                guard section.isGiven("signer") || signer.isGiven("socket") else {
                    return signer.value(
                        "socket", .path, help: "The Unix socket of the signer.", PathText.absolute)
                }
                return signer.required(
                    "socket", .path, example: "/run/native-sso-signer/socket", help: "The Unix socket of the signer.",
                    PathText.absolute)
            }
            let help = "The directory of the key files. Required without `keys.signer`."
            if signer != nil {
                directory = section.value("directory", .path, help: help, PathText.absolute)
                for key in ["directory", "pkcs11", "passphrase_file", "fips"] where section.isGiven(key) {
                    section.report(key, "has no effect beside keys.signer, which has the keys; remove one of them")
                }
            } else {
                directory = section.required(
                    "directory", .path, example: "/var/lib/native-sso/keys", help: help, PathText.absolute)
            }
            passphrase = section.value(
                "passphrase_file", .path,
                help: "Encrypts new files of signing keys, on one line. Only its owner may read the file.",
                SecretFile.read)
            usesFIPS = section.flag(
                "fips", default: false, help: "Use OpenSSL's FIPS provider, and do not start without it.")
            token = section.section(
                "pkcs11", help: "A PKCS#11 token, in which new signing keys are made. Without it, they are files."
            ) { TokenSettings(reading: $0, isGiven: section.isGiven("pkcs11") || $0.isGiven("module")) }
        }

        /// For commands that touch key files themselves.
        func ownDirectory() throws(CommandFailure) -> String {
            guard let directory else {
                throw .usage("the signer has the keys: name a configuration with keys.directory")
            }
            return directory
        }

        /// With the passphrase of the configuration.
        func files(in directory: String) throws(KeyError) -> FileKeyProvider {
            guard let passphrase else { return FileKeyProvider(directory: directory) }
            return try FileKeyProvider(directory: directory, passphrase: passphrase.secret)
        }

        func provider() throws(KeyError) -> any KeyProvider {
            if let signer { return SignerKeyProvider(SignerClient(socket: signer)) }
            if usesFIPS { try FIPSModule.require() }
            let files = try files(in: directory ?? "")
            return token.map { TokenKeyProvider(Token($0), files: files) } ?? files
        }
    }
}

extension TokenSettings {
    /// `keys.pkcs11`: the token; `nil` if the section is not given or incomplete.
    fileprivate init?(reading section: Section, isGiven: Bool) {
        let module = section.value(
            "module", .path, help: "The PKCS#11 module, a shared library.", PathText.absolute)
        let token = section.value("token", .text("a label"), help: "The label of the token.", Self.label)
        let pin = section.value(
            "pin_file", .path, help: "The PIN of the token's user, on one line. Only its owner may read the file.",
            SecretFile.read)
        let sessions = section.integer(
            "sessions", default: 4, in: 1...64,
            help: "Sessions of this broker: how many signatures the token makes at once.")
        guard isGiven else { return nil }
        for key in ["module", "token", "pin_file"] where !section.isGiven(key) {
            section.report(key, "is missing; write module, token and pin_file")
        }
        guard let module, let token, let pin else { return nil }
        self.init(module: module, token: token, pin: pin.secret, sessions: sessions)
    }

    /// PKCS#11 pads a label to 32 octets.
    private static func label(_ text: String) throws(ValueDefect) -> String {
        guard (1...32).contains(text.utf8.count), !text.utf8.contains(where: { $0 < 0x20 }) else {
            throw ValueDefect("is no label of a token: 1 to 32 octets")
        }
        return text
    }
}

extension RequestLimits {
    /// `limits`: the rate limits. Each broker counts by itself.
    ///
    /// - Parameter tellsCallersApart: See ``Configuration/PublicListener/tellsCallersApart``.
    init(reading section: Section, tellsCallersApart: Bool) {
        let standard = RequestLimits()
        func rate(_ key: String, _ standard: RateLimit?, _ help: String) -> RateText? {
            section.value(key, .rate, default: RateText(limit: standard).description, help: help, RateText.parse)
        }
        func limit(_ key: String, _ standard: RateLimit?, _ help: String) -> RateLimit? {
            rate(key, standard, help).map(\.limit) ?? standard
        }
        func addressLimit(_ key: String, _ standard: RateLimit?, _ help: String) -> RateLimit? {
            let rate = rate(key, standard, help)
            if rate?.limit != nil, !tellsCallersApart {
                section.report(
                    key,
                    "counts by address, and behind a proxy on this host everybody has the same one; name the proxy in "
                        + "public.trusted_proxies, or write off")
            }
            return rate.map(\.limit) ?? standard
        }
        self.init(
            listener: limit("listener", standard.listener, "All requests to the public listener together."),
            address: addressLimit(
                "address", standard.address, "Requests of one IPv4 address, or of the /64 of an IPv6 address."),
            handshakes: limit(
                "handshakes", standard.handshakes,
                "TLS handshakes of one IPv4 address, or of the /64 of an IPv6 address."),
            network: addressLimit("network", standard.network, "Requests of the /48 of an IPv6 address."),
            client: limit(
                "client", standard.client, "Requests of one app with a genuine token, or of one authenticated client."),
            clientFailures: addressLimit(
                "client_failures", standard.clientFailures, "Failed authentications of one client from one address."),
            session: limit(
                "session", standard.session,
                "Exchanges of one login by all apps together, and refreshes of one app in it."),
            user: limit("user", standard.user, "Exchanges of all logins of one user."),
            device: limit("device", standard.device, "Exchanges on one device."),
            deviceFailures: limit(
                "device_failures", standard.deviceFailures,
                "Exchanges of one login with a wrong device value, and refused enrolments of one id_token."),
            code: addressLimit("code", standard.code, "Authorization codes from one address."),
            logout: limit(
                "logout", standard.logout,
                "Logout tokens of one identity provider from one address, and unsigned ones from one address."))
    }
}

extension Configuration {
    /// `dpop`: the rules for DPoP proofs. The registration of each client says whether it sends proofs.
    struct DPoP: Sendable, Hashable {
        enum Nonce: String, Sendable, CaseIterable {
            case required
            case off
        }

        let tokenEndpoint: String
        let target: TargetURI
        let nonce: Nonce
        let nonceLifetime: Seconds

        /// - Parameter issuer: The broker's; `nil` if it is invalid.
        init?(reading section: Section, issuer: Issuer?) {
            let standard = issuer.map { $0.withoutTrailingSlash + "/token" } ?? "https://sso.example.com/token"
            let endpoint = section.value(
                "token_endpoint", .url, defaultText: standard,
                help: "The URL of `POST /token` as apps write it in `htu`. By default `issuer` with `/token`."
            ) { text in
                let url = try WebURL(text, allowsLoopbackHTTP: section.isDevelopment)
                guard !url.hasQuery else { throw ValueDefect("must not contain a query (?)") }
                guard let target = TargetURI(text) else { throw ValueDefect("is not the URL of an endpoint") }
                return (text, target)
            }
            nonce = section.choice(
                "nonce", default: .off, help: "`required`: each proof needs a nonce of the broker (RFC 9449 §8).")
            nonceLifetime = section.duration(
                "nonce_lifetime", default: .minutes(5), in: 30 ... .hours(1), help: "How long a nonce is accepted.")
            if section.isSound, section.isGiven("nonce_lifetime"), nonce == .off {
                section.warn("nonce_lifetime", "has no effect: dpop.nonce is off")
            }
            guard let endpoint else { return nil }
            (tokenEndpoint, target) = endpoint
        }
    }
}

extension Configuration {
    /// `sessions`: how long a login on a device may be used.
    struct Sessions: Sendable, Hashable {
        let absolute: Seconds
        let idle: Seconds
        let maximumSubjectTokenAge: Seconds

        /// The bounds of the setting, here and for each issuer.
        static let subjectTokenAges: ClosedRange<Seconds> = 60 ... .days(90)

        init(reading section: Section) {
            let bounds = (section.isDevelopment ? 1 : .hours(1))...Seconds.days(400)
            absolute = section.duration(
                "absolute", default: .days(90), in: bounds, help: "From the beginning of a session to its end.")
            idle = section.duration(
                "idle", default: min(.days(30), absolute), in: bounds,
                help: "The longest time between two uses of a session. The default is never above `absolute`.")
            maximumSubjectTokenAge = section.duration(
                "subject_token_max_age", default: .days(90), in: Self.subjectTokenAges,
                help: "The greatest age of an id_token in an exchange, counted from `iat`.")
            if section.isSound, idle > absolute {
                section.report("idle", "must not be longer than sessions.absolute, \(DurationText.format(absolute))")
            }
        }
    }

    /// `tokens`: the lifetimes of the broker's tokens.
    struct Tokens: Sendable, Hashable {
        let access: Seconds
        let refreshGrace: Seconds
        let unboundRefreshGrace: Seconds

        init(reading section: Section) {
            access = section.duration(
                "access", default: .minutes(5), in: 10 ... .hours(24),
                help: "Of an access token. An access token outlives the end of its session by at most this.")
            refreshGrace = section.duration(
                "refresh_grace", default: 60, in: 0 ... .minutes(10),
                help: "How long a refresh may be repeated after a lost answer, by an authenticated client or with DPoP."
            )
            unboundRefreshGrace = section.duration(
                "unbound_refresh_grace", default: 10, in: 0 ... .minutes(5),
                help: "The same for public clients without DPoP.")
            for (key, value) in [("refresh_grace", refreshGrace), ("unbound_refresh_grace", unboundRefreshGrace)]
            where value == 0 {
                section.warn(
                    key, "0: of two refreshes at once, or where an answer was lost, the login is lost as a theft")
            }
        }
    }
}
