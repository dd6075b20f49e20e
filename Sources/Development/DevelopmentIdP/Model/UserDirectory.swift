import StrictCoding

/// Somebody who can log in.
package struct User: Sendable, CustomStringConvertible, CustomReflectable {
    package let username: String
    /// In clear, here and in the file: these people exist on a developer's laptop only.
    package let password: String
    /// `sub`: never reused, and unlike the user name never changed.
    package let subject: String
    package let name: String
    package let email: String
    /// For the APIs.
    package let roles: [String]
    /// nil: this user has no second factor.
    package let secondFactor: TimeBasedPassword?
    /// Whether the second factor is asked for even if the app does not ask for it.
    let alwaysUsesSecondFactor: Bool

    package init(
        username: String, password: String, subject: String, name: String, email: String, roles: [String] = [],
        secondFactor: TimeBasedPassword? = nil, alwaysUsesSecondFactor: Bool = false
    ) {
        self.username = username
        self.password = password
        self.subject = subject
        self.name = name
        self.email = email
        self.roles = roles
        self.secondFactor = secondFactor
        self.alwaysUsesSecondFactor = alwaysUsesSecondFactor
    }

    package var description: String { username }
    package var customMirror: Mirror { Mirror(self, children: ["username": username, "password": "****"]) }
}

/// Everybody who can log in.
package struct UserDirectory: Sendable {
    package let users: [User]

    package init(_ users: [User]) {
        self.users = users
    }

    /// Four people to start with: alice and dave have a second factor, bob has none, and carol always uses hers.
    package static let demonstration = UserDirectory([
        User(
            username: "alice", password: "alice-demo-password", subject: "248289761001", name: "Alice Example",
            email: "alice@example.test", roles: ["user"],
            secondFactor: TimeBasedPassword(base32: "MFWGSY3FEBUGC4ZAONXW2ZJAONXW2ZJA")),
        User(
            username: "bob", password: "bob-demo-password", subject: "248289761002", name: "Bob Example",
            email: "bob@example.test", roles: ["user", "admin"]),
        User(
            username: "carol", password: "carol-demo-password", subject: "248289761003", name: "Carol Example",
            email: "carol@example.test", roles: ["user"],
            secondFactor: TimeBasedPassword(base32: "MNQXE33MEBUGC4ZAONXW2ZJAONXW2ZJA"), alwaysUsesSecondFactor: true),
        User(
            username: "dave", password: "dave-demo-password", subject: "248289761004", name: "Dave Example",
            email: "dave@example.test", roles: ["user"],
            secondFactor: TimeBasedPassword(base32: "MRQXMZJAMEQGC4ZAONXW2ZJAONXW2ZJA")),
    ])

    /// Reads the users from the JSON file `path`. If the file does not exist, writes ``demonstration`` to it first.
    package init(file path: String) throws(ProviderError) {
        guard let bytes = try PrivateFile.read(path) else {
            self = .demonstration
            try PrivateFile.create(path, json)
            return
        }
        let file = try ConfigurationFile(path, bytes)
        try file.expectMembers(of: file.root, ["users"])
        users = try file.objects("users", of: file.root).map { entry throws(ProviderError) in
            try User(entry, in: file)
        }
    }

    /// The user with this name and password.
    func authenticate(username: String, password: String) -> User? {
        users.first {
            $0.username.hasSameOctets(as: username) && ConstantTime.equal($0.password.utf8, password.utf8)
        }
    }

    func user(subject: String) -> User? {
        users.first { $0.subject.hasSameOctets(as: subject) }
    }

    private var json: [UInt8] {
        var json = JSONWriter()
        json.object { json in
            json.member(
                "users",
                array: { json in
                    for user in users {
                        json.object { json in
                            json.member("username", user.username)
                            json.member("password", user.password)
                            json.member("sub", user.subject)
                            json.member("name", user.name)
                            json.member("email", user.email)
                            json.member("roles", user.roles)
                            if let secondFactor = user.secondFactor {
                                json.member("totp_secret", secondFactor.base32)
                                json.member("always_uses_second_factor", user.alwaysUsesSecondFactor)
                            }
                        }
                    }
                })
        }
        return json.bytes + [UInt8(ascii: "\n")]
    }
}

extension User {
    init(_ entry: JSONObject, in file: ConfigurationFile) throws(ProviderError) {
        try file.expectMembers(
            of: entry,
            [
                "username", "password", "sub", "name", "email", "roles", "totp_secret", "always_uses_second_factor",
            ])
        let secret = try file.optionalString("totp_secret", of: entry)
        let secondFactor = secret.flatMap(TimeBasedPassword.init(base32:))
        guard secret == nil || secondFactor != nil else {
            throw file.malformed("\"totp_secret\" is no base32 text of at least 16 octets")
        }
        let always = try file.bool("always_uses_second_factor", of: entry)
        guard secondFactor != nil || !always else {
            throw file.malformed("\"always_uses_second_factor\" needs a \"totp_secret\"")
        }
        self.init(
            username: try file.string("username", of: entry), password: try file.string("password", of: entry),
            subject: try file.string("sub", of: entry), name: try file.string("name", of: entry),
            email: try file.string("email", of: entry), roles: try file.strings("roles", of: entry),
            secondFactor: secondFactor, alwaysUsesSecondFactor: always)
    }
}
