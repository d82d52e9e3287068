"""Certificates that may break a rule, for the servers of trust.py, and the folder of their files."""

import datetime
import ipaddress
import os
import subprocess

import peer
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

NOW = datetime.datetime.now(datetime.timezone.utc)
DAY = datetime.timedelta(days=1)
PAST = datetime.datetime(2020, 1, 2, 3, 4, 5, tzinfo=datetime.timezone.utc)
FUTURE = datetime.datetime(2090, 1, 2, 3, 4, 5, tzinfo=datetime.timezone.utc)
PASSPHRASE = "pa:ss wörd".encode()
USUAL = ("localhost", "127.0.0.1")
FOLDER = peer.temporary_folder()


def write(name, data):
    path = os.path.join(FOLDER, name)
    with open(path, "wb") as file:
        file.write(data)
    return path


def general_name(name):
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


class Node:
    """A certificate with its key and its chain up to the root, which is not part of the chain."""

    def __init__(
        self, name, issuer=None, names=None, authority=False, valid=(NOW - DAY, NOW + 30 * DAY), usage=None, key=None,
        permitted=None, digest=None
    ):
        self.key = key or ec.generate_private_key(ec.SECP256R1())
        self.name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self.issuer = issuer
        # OpenSSL's tool signs only certificates that are their own issuers.
        signer = self if digest or not issuer else issuer
        builder = (
            x509.CertificateBuilder()
            .subject_name(self.name)
            .issuer_name(signer.name)
            .public_key(self.key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(valid[0])
            .not_valid_after(valid[1])
            .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(self.key.public_key()), critical=False)
        )
        if not digest:
            builder = builder.add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.key.public_key()), critical=False
            )
        if authority:
            usages = dict.fromkeys(
                "content_commitment key_encipherment data_encipherment key_agreement encipher_only decipher_only".split(),
                False,
            )
            builder = builder.add_extension(
                x509.KeyUsage(digital_signature=True, key_cert_sign=True, crl_sign=True, **usages), critical=True
            )
        else:
            builder = builder.add_extension(
                x509.ExtendedKeyUsage([usage or ExtendedKeyUsageOID.SERVER_AUTH]), critical=False
            )
        if names:
            builder = builder.add_extension(
                x509.SubjectAlternativeName([general_name(each) for each in names]), critical=False
            )
        if permitted:
            builder = builder.add_extension(
                x509.NameConstraints([x509.DNSName(permitted)], None), critical=True
            )
        self.certificate = builder.sign(signer.key, hashes.SHA256())
        if digest:
            self.certificate = self.sign_again(digest)

    def sign_again(self, digest):
        """Signs a certificate that is its own issuer with the issuer's key and a digest that Python's library no longer uses."""
        files = {"-in": self.pem(), "-CA": self.issuer.pem(), "-CAkey": self.issuer.key_pem()}
        command = ["openssl", "x509", "-preserve_dates", "-set_serial", str(self.certificate.serial_number), f"-{digest}"]
        for option, data in files.items():
            command += [option, write(f"signing{option}.pem", data)]
        text = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
        return x509.load_pem_x509_certificate(text)

    def pem(self):
        return self.certificate.public_bytes(serialization.Encoding.PEM)

    def chain(self, with_root=False):
        """Returns the certificate and those of its issuers, as PEM."""
        if self.issuer is None:
            return self.pem() if with_root else b""
        return self.pem() + self.issuer.chain(with_root)

    def key_pem(self, passphrase=None):
        encryption = (
            serialization.BestAvailableEncryption(passphrase) if passphrase else serialization.NoEncryption()
        )
        return self.key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption
        )

    def revocation_list(self, revoked=(), until=NOW + DAY):
        builder = (
            x509.CertificateRevocationListBuilder().issuer_name(self.name).last_update(PAST).next_update(until)
        )
        for each in revoked:
            builder = builder.add_revoked_certificate(
                x509.RevokedCertificateBuilder()
                .serial_number(each.certificate.serial_number)
                .revocation_date(PAST)
                .build()
            )
        return builder.sign(self.key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def short_key():
    """Returns an RSA key of 512 bits, which Python's library does not make any more."""
    text = subprocess.run(["openssl", "genrsa", "512"], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return serialization.load_pem_private_key(text.stdout, None)
