import OAuthWire

extension Configuration {
    /// `database`: the PostgreSQL that holds clients, sessions and grants.
    struct Database: Sendable {
        /// For libpq. Holds no password.
        let url: String
        let password: Credential?
        /// Connections, each on a thread of its own, for everything but exchanges and refreshes, which have lanes.
        let pool: Int

        init(reading section: Section) {
            let url = section.required(
                "url", example: "postgresql://broker@%2Frun%2Fpostgresql/native_sso", DatabaseURL.init)
            self.url = url?.string ?? ""
            password = section.value("password_file", SecretFile.read)
            pool = section.integer("pool", default: 8, in: 1...200)
        }
    }

    /// `keys`: where the broker's private keys lie.
    struct Keys: Sendable, Hashable {
        /// An absolute path.
        let directory: String

        init(reading section: Section) {
            directory =
                section.required("directory", example: "/var/lib/native-sso/keys", PathText.absolute) ?? ""
        }
    }
}
