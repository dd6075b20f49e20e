import StrictCoding

/// Somebody who can log in.
package struct User: Sendable, CustomStringConvertible, CustomReflectable {
    package let username: String
    /// In clear, here and in the file: these people exist on a developer's laptop only.
    let password: String
    /// `sub`: never reused, and unlike the user name never changed.
    package let subject: String
    package let name: String
    package let email: String

    package init(username: String, password: String, subject: String, name: String, email: String) {
        self.username = username
        self.password = password
        self.subject = subject
        self.name = name
        self.email = email
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

    /// Two people to start with.
    package static let demonstration = UserDirectory([
        User(
            username: "alice", password: "alice-demo-password", subject: "248289761001", name: "Alice Example",
            email: "alice@example.test"),
        User(
            username: "bob", password: "bob-demo-password", subject: "248289761002", name: "Bob Example",
            email: "bob@example.test"),
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
            try file.expectMembers(of: entry, ["username", "password", "sub", "name", "email"])
            return User(
                username: try file.string("username", of: entry), password: try file.string("password", of: entry),
                subject: try file.string("sub", of: entry), name: try file.string("name", of: entry),
                email: try file.string("email", of: entry))
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
                        }
                    }
                })
        }
        return json.bytes + [UInt8(ascii: "\n")]
    }
}
